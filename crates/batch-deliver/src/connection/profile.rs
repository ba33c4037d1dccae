//! The profile of the shared AWS configuration.

use std::borrow::Cow;
use std::env;

use aws_config::profile::{ProfileFileCredentialsProvider, ProfileSet, load};
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_types::os_shim_internal::{Env, Fs};

use crate::outcome::Failure;

/// The variables that name a profile, the first one first. The SDK knows only that one, AWS's other tools know both.
const VARIABLES: [&str; 2] = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"];

const DEFAULT: &str = "default";

/// The variable of the access key, which the SDK looks for before it inspects the profile.
const ACCESS_KEY: (&str, &str) = ("AWS_ACCESS_KEY_ID", "aws_access_key_id");

/// The profile of a connection.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) name: String,
    /// Whether an option names it. Then what it has comes before what the environment has, which may be about anything else.
    pub(super) is_named: bool,
    settings: ProfileSet,
}

impl Profile {
    /// The profile that an option names, or the environment, or the default one. One that is named has to exist.
    #[expect(
        clippy::default_trait_access,
        reason = "the SDK exports the type of the files only as a deprecated one"
    )]
    pub(super) async fn find(named: Option<&str>) -> Result<Self, Failure> {
        let is_named = named.is_some();
        let of_variable = VARIABLES.into_iter().find_map(|variable| {
            // To name the default one says nothing, and it need not exist.
            let name = env::var(variable)
                .ok()
                .filter(|name| !["", DEFAULT].contains(&&**name))?;
            Some((name, format!(", which {variable} names")))
        });
        let named = named.map(|name| (name.to_owned(), String::new())).or(of_variable);
        let (name, by) = named.clone().unwrap_or((DEFAULT.to_owned(), String::new()));
        let selected = Some(Cow::Owned(name.clone()));
        let settings = match load(&Fs::real(), &Env::real(), &Default::default(), selected).await {
            Ok(settings) => settings,
            // Without a name, the SDK continues without the configuration if it finds everything elsewhere.
            Err(_) if named.is_none() => ProfileSet::default(),
            Err(error) => {
                let words = format!("the profile {name}{by} cannot be read: {error}");
                return Err(Failure::Unequipped(words));
            }
        };
        if named.is_some() && settings.get_profile(&name).is_none() {
            return Err(Failure::Unequipped(format!(
                "there is no profile {name}{by}: it would be [profile {name}] in ~/.aws/config, or [{name}] in ~/.aws/credentials, or in \
                 the files that AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name"
            )));
        }
        Ok(Self {
            name,
            is_named,
            settings,
        })
    }

    /// The region that comes before that of the environment.
    pub(super) fn region(&self) -> Option<String> {
        let region = self.settings.get("region").filter(|region| !region.is_empty())?;
        self.is_named.then(|| region.to_owned())
    }

    /// The same configuration, with the credentials of this profile alone if it is named. The SDK would ask the environment first, and
    /// containers and the machine afterwards.
    pub(super) fn with_its_credentials(&self, config: SdkConfig) -> SdkConfig {
        if !self.is_named {
            return config;
        }
        let mut of_roles = ProviderConfig::without_region()
            .with_region(config.region().cloned())
            .with_use_fips(config.use_fips())
            .with_use_dual_stack(config.use_dual_stack())
            .with_behavior_version(Some(BehaviorVersion::latest()));
        if let Some(timeouts) = config.timeout_config() {
            of_roles = of_roles.with_timeout_config(timeouts.clone());
        }
        let provider = ProfileFileCredentialsProvider::builder()
            .configure(&of_roles)
            .profile_name(&self.name)
            .build();
        let provider = SharedCredentialsProvider::new(provider);
        config.to_builder().credentials_provider(provider).build()
    }

    /// Whether these are the credentials of a session that variables or a file have as they are, which are read only once. Those of a
    /// user do not expire.
    pub(super) fn has_read(&self, credentials: &Credentials) -> bool {
        let (variable, setting) = ACCESS_KEY;
        let of_environment = env::var(variable).ok().filter(|_| !self.is_named);
        let known = [of_environment.as_deref(), self.settings.get(setting)];
        let is_of_session = credentials.expiry().is_none() && credentials.session_token().is_some();
        is_of_session && known.contains(&Some(credentials.access_key_id()))
    }
}
