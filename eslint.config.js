import neostandard from 'neostandard'

// Of functions that are declared here: what a callback takes is decided by whoever calls it.
const parameters = [
  'FunctionDeclaration[params.length>3]',
  'MethodDefinition > FunctionExpression[params.length>3]',
  'VariableDeclarator > ArrowFunctionExpression[params.length>3]',
  'TSFunctionType[params.length>3]'
].map(selector => ({ selector, message: 'At most three parameters.' }))

// The check of escapes (xss-scan) sees texts in elements only.
const cell = "Property[key.name='cell'] > ArrowFunctionExpression"
const cells = [
  "ObjectExpression > Property[key.name='cell'] > .value:not(ArrowFunctionExpression)",
  `${cell} > .body:not(JSXElement, ConditionalExpression)`,
  `${cell} > ConditionalExpression > :not(JSXElement, [value='']):not(.test)`
].map(selector => ({ selector, message: 'A cell of a table is an element, so that its texts are escaped.' }))

export default [
  ...neostandard({
    ts: true,
    ignores: ['dist/**', 'data/**', 'test/hapi/target/**', '.tap/**', 'src/client/openapi.ts']
  }),
  {
    rules: {
      'max-lines': ['error', { max: 300 }],
      'max-lines-per-function': ['error', { max: 50 }],
      // A text stays whole, so that it can be found by searching for it.
      'max-len': ['error', {
        code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true, ignoreUrls: true
      }]
    }
  },
  {
    files: ['src/**'],
    ignores: ['**/*.as.ts'],
    rules: { 'no-restricted-syntax': ['error', ...parameters, ...cells] }
  },
  // Pages are made once into text, so that no element of a list must be told from another one.
  { files: ['**/*.tsx'], rules: { 'react/jsx-key': 'off' } },
  {
    files: ['src/control-plane/dashboard/assets/*.js'],
    languageOptions: { globals: { document: 'readonly', navigator: 'readonly', window: 'readonly' } }
  },
  // A test file's top-level callbacks hold many small steps; the limit is for product code.
  {
    files: ['test/**', 'bench/**'],
    rules: { 'max-lines-per-function': 'off', 'max-lines': ['error', { max: 600 }], 'max-params': ['error', 4] }
  },
  { files: ['bench/**'], rules: { 'max-len': ['error', { code: 120 }] } }
]
