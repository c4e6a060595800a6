"""What sending a parcel costs."""
