"""Is a result right? Its kernel against the nest, interpreted or as C, and its tree against the dependences."""
