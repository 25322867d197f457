/** Allows nothing of another host and no inline script; the pages' library sets styles inline. */
export const securityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

/**
 * Where a resource is open, the simple form is next to the FHIR that it becomes; of failures only the descriptions are
 * shown.
 */
export const pageStyle = `
.swagger-ui .info { margin: 30px 0; }
.swagger-ui .info .link, .swagger-ui .response-col_links { display: none; }
.swagger-ui .opblock-tag { flex-wrap: wrap; }
.swagger-ui .opblock-tag small { flex-basis: 100%; order: 1; padding: 0; text-align: left; cursor: auto; }
.swagger-ui .opblock-tag small :is(p + p, pre, pre + p) { display: none; }
.swagger-ui .is-open > .opblock-tag small .renderedMarkdown { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 1em; }
.swagger-ui .is-open > .opblock-tag small p:first-child { grid-column: 1 / -1; }
.swagger-ui .is-open > .opblock-tag small :is(p, pre) { display: block; margin: .4em 0; }
.swagger-ui .is-open > .opblock-tag small p:nth-of-type(2) { grid-area: 2 / 1; }
.swagger-ui .is-open > .opblock-tag small p:nth-of-type(3) { grid-area: 2 / 2; }
.swagger-ui .is-open > .opblock-tag small pre { grid-row: 3; overflow-x: auto; background: #fff; border: 1px solid #d8dde7; border-radius: 4px; padding: .8em; }
.swagger-ui .opblock-tag small pre code { color: #3b4151; background: none; padding: 0; font-weight: normal; }
.swagger-ui tr.response:is([data-code^="4"], [data-code^="5"]):not([data-code="422"]) .response-col_description > :not(.response-col_description__inner) { display: none; }
@media (max-width: 700px) {
  .swagger-ui .is-open > .opblock-tag small .renderedMarkdown { display: block; }
}
`

/** A click on an example selects its text; without this it would close the resource that the example belongs to. */
export const pageScript = `
document.addEventListener('click', event => { if (event.target.closest('.opblock-tag pre')) event.stopPropagation() }, true)
`
