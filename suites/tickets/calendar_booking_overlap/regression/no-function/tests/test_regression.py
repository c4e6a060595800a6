from scheduler.calendar import Calendar

calendar = Calendar()
calendar.book("blue", 540, 600)
calendar.book("blue", 601, 660)
