slots detect
