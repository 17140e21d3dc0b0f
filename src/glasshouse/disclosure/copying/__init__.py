"""Copying: records of the release that equal or nearly equal a real one."""
