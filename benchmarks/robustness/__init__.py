"""Random parts of real tensors, predicted by the default call and by every candidate alone."""
