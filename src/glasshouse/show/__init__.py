"""What people see: charts, the report, the command line. No formula lives here."""
