// Before anything is painted: the theme that was chosen here, if one was. A file of its own since the page's policy
// refuses inline scripts, and not a module since those run after the first paint.
try {
  const theme = localStorage.getItem('reprise.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // storage may be refused: then the system's theme is used
}
