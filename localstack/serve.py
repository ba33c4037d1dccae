"""Starts LocalStack with S3's objects under TMPDIR. By default it stores them under /tmp, and does not remove them."""

import _thread
import sys
import threading

if sys.version_info < (3, 13):
    # The Step Functions of this LocalStack have annotations such as `Lock | None`, for which a lock has to be a class.
    class Lock:
        def __new__(cls):
            return _thread.allocate_lock()

    threading.Lock = Lock

from localstack.runtime.main import main
from localstack.services.s3 import provider

# The store then makes a temporary folder of its own.
provider.DEFAULT_S3_TMP_DIR = None
main()
