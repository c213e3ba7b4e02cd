# SPDX-License-Identifier: Apache-2.0
"""The five rungs, one module each; `actum.kernel.ladder` fixes their order."""
