"""Estimands: functions of one draw of the bins."""
