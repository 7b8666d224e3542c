"""What is asked only by name: `./validate --quick`. ReFrame does not look into this folder by itself."""
