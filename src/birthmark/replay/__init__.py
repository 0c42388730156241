"""A traced model for one seed and device: replayed, matched with its checkpoint, and rewound."""
