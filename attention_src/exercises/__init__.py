"""The checks that learners call: one folder per chapter, all built on `engine.checking.Check`."""
