"""Stand-ins for modules that Python in the page has not; course.py puts them in their places."""
