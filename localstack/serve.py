"""Starts LocalStack with S3's objects under TMPDIR. By itself it keeps them under /tmp, and leaves them there."""

from localstack.runtime.main import main
from localstack.services.s3 import provider

# The store then makes a temporary folder of its own.
provider.DEFAULT_S3_TMP_DIR = None
main()
