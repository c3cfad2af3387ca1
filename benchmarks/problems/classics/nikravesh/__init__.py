"""Problems of Nikravesh's chapter 11, and the exercises of the ME751 slides."""
