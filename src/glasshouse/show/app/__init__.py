"""The workbench: the whole job in a browser, on the user's own machine.

Why no web framework. The pages are forms and links, drawn by the templates, charts and sentences of the report, with a
little plain JavaScript for uploads, progress and a slider. So the standard library's server is enough: nothing to
install, no package that sees confidential tables, no asset from elsewhere, no cookie. Shiny for Python was thought of:
a reload or the back button ends a Shiny session, its work runs in threads that cannot be stopped while they compute,
and its look would have been a second one beside the report's.

``server`` has addresses and uploads, ``guard`` who may talk to it, ``windows`` a process and a private folder for each
window, ``worker`` what runs in that process, ``desk`` what a window knows, ``pages`` what each page shows and does.
"""
