// Applies the theme that the user chose, before the first paint. A separate file, because the page's content security
// policy forbids inline scripts. Not a module, because modules run after the first paint.
try {
  const theme = localStorage.getItem('reprise.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // without storage, the page uses the theme of the system
}
