/** When and by which key a record is created, from which its defaults are filled in. */
export const createContext = {
  now: '2026-03-14T09:30:00Z',
  keyName: 'Front desk',
  newUrl: () => 'https://example.org/canonical/1'
}
