//! One call of `deliver`.

call_sites::deliver!(0);
