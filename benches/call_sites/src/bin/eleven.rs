//! Eleven calls of `deliver`.

call_sites::deliver!(0 1 2 3 4 5 6 7 8 9 10);
