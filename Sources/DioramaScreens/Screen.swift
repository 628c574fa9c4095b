// Page objects on real screens.
