"""The checks that learners call: a folder per chapter, all built on `engine.checking.Check`."""
