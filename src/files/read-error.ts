const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EISDIR: 'it is a directory',
  EMFILE: 'too many files are open'
}

/** Why a file cannot be read, for a person and without its path: `it does not exist`. The code where it is unusual. */
export function describeReadError (error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException
  return code === undefined ? name : reasons[code] ?? code
}
