slots detect
userprio -setfactor alice@example.org 1 -create
