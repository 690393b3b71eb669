slots detect
submit -- true
