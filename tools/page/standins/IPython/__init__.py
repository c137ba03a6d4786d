"""In the page there is no notebook: what a cell displays is handed to the page."""
