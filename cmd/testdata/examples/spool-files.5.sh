slots detect
submit -- true
negotiate
