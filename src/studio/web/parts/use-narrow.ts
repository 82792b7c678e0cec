// Whether the window is as narrow as a phone's, where rows need more than one line.
import { useEffect, useState } from 'preact/hooks'

const narrow = '(max-width: 820px)'

export function useNarrow(): boolean {
  const [is, setIs] = useState(() => matchMedia(narrow).matches)
  useEffect(() => {
    const query = matchMedia(narrow)
    const read = (): void => setIs(query.matches)
    query.addEventListener('change', read)
    return () => query.removeEventListener('change', read)
  }, [])
  return is
}
