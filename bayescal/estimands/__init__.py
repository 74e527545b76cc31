"""What is asked: functions of one draw of the bins."""
