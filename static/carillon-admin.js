// Before htmx is ready: it would write a style sheet into the page, which the Content-Security-Policy refuses.
// carillon-admin.css has the same rules.
htmx.config.includeIndicatorStyles = false;
