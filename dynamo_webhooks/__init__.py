"""The one name that this project installs. The rooms lie beside it in a checkout, as links; a wheel holds them below it."""
