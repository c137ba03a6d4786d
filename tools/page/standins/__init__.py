"""Stand-ins for modules that Python in the page lacks; course.py puts them in place."""
