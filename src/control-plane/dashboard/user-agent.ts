/** Words of the header that identify browsers; the first match counts, since most name others too. */
const browsers: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bEdg(A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|HeadlessChrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari']
]

const systems: ReadonlyArray<readonly [RegExp, string]> = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux']
]

/** A browser in words, such as `Firefox on Windows`, by the header User-Agent; undefined if the header names none. */
export function browserName (userAgent = ''): string | undefined {
  const [browser, system] = [browsers, systems].map(known => known.find(([word]) => word.test(userAgent))?.[1])
  return browser === undefined || system === undefined ? browser : `${browser} on ${system}`
}
