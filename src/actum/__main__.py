# SPDX-License-Identifier: Apache-2.0
"""`python -m actum` is the command line."""

from actum.cli.main import main

if __name__ == "__main__":
    main()
