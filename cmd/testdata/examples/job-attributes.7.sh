submit -- true
