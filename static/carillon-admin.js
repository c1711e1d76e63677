// Runs before htmx, whose inline style sheet the Content-Security-Policy forbids; carillon-admin.css has the rules.
htmx.config.includeIndicatorStyles = false;
