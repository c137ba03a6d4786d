"""The checks that learners call: one module per chapter, all built on `checking.Check`."""
