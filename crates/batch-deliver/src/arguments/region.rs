//! The region that the name of a destination says.

use super::Service;
use crate::outcome::Failure;

/// Whether this looks like a region, such as `us-gov-west-1`.
pub(super) fn is_one(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    text.split('-').count() >= 3 && text.split('-').all(is_part) && text.ends_with(|last: char| last.is_ascii_digit())
}

/// The region in an ARN. `None` if it is a plain name.
pub(crate) fn of_arn(text: &str) -> Option<&str> {
    let region = text.strip_prefix("arn:")?.split(':').nth(2)?;
    is_one(region).then_some(region)
}

impl Service {
    /// The same in the region that the name of a destination says, if it does. A region that is given must be the same one,
    /// but an emulator may have everything in any region.
    pub(crate) fn within(&self, region: Option<&str>, destination: &str) -> Result<Self, Failure> {
        let Some(region) = region else { return Ok(self.clone()) };
        match &self.region {
            Some(given) if given != region && self.endpoint_url.is_none() => Err(Failure::WrongUse(format!(
                "{destination} is in {region}, but --region is {given}: leave out --region"
            ))),
            Some(_) => Ok(self.clone()),
            None => Ok(Self {
                region: Some(region.to_owned()),
                ..self.clone()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_of_an_arn_is_used_unless_another_one_is_given() {
        let arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/films";
        assert_eq!((of_arn(arn), of_arn("films")), (Some("eu-west-1"), None));
        let service = |region: Option<&str>, endpoint: Option<&str>| Service {
            region: region.map(ToOwned::to_owned),
            endpoint_url: endpoint.map(ToOwned::to_owned),
            ..Service::default()
        };
        let within = |service: Service| service.within(of_arn(arn), arn).map(|service| service.region.unwrap());
        assert_eq!(within(service(None, None)).unwrap(), "eu-west-1");
        assert_eq!(within(service(Some("eu-west-1"), None)).unwrap(), "eu-west-1");
        assert_eq!(
            within(service(Some("us-east-1"), Some("http://e"))).unwrap(),
            "us-east-1"
        );
        let refused = within(service(Some("us-east-1"), None)).unwrap_err().to_string();
        assert!(
            refused.ends_with("is in eu-west-1, but --region is us-east-1: leave out --region"),
            "{refused}"
        );
        let plain = service(Some("us-east-1"), None)
            .within(of_arn("films"), "films")
            .unwrap();
        assert_eq!(plain.region.as_deref(), Some("us-east-1"));
    }
}
