/* eslint no-template-curly-in-string: off -- the texts are program text of the gateway */
/**
 * Every control that keeps tenants apart, and how to switch it off in the built program: texts that stand there exactly
 * once, and what takes their place. `sections` of the attacks are sent first; `on: 'hapi'` needs the real server to
 * show it.
 * @typedef {{ file: string, find: string, replace: string }} Patch
 * @typedef {{ control: string, patches: Patch[], sections: string[], on?: 'hapi', ci?: boolean }} Control
 */

/** @returns {Patch} */
const patch = (file, find, replace) => ({ file, find, replace })

/** @returns {Control} */
const defineControl = (name, sections, patches, more = {}) => ({
  control: name,
  sections,
  patches: [patches].flat(),
  ...more
})

const guard = name => `tenant-guard/${name}.js`

/** @type {Control[]} */
export const controls = [
  defineControl(
    'tag on a search',
    ['searches'],
    patch(
      guard('restrict'),
      "encodeParameters([['_tag', formatTenantToken(tenant)], ...page, ...shape])",
      'encodeParameters([...page, ...shape])'
    ),
    { ci: true }
  ),
  defineControl(
    'tag in the form of a search',
    ['form searches'],
    patch(guard('restrict'), 'form: [requested, own].filter', 'form: [requested].filter'),
    { ci: true }
  ),
  defineControl(
    'tag in the URL of a search by form',
    ['form searches'],
    patch(guard('restrict'), 'path: `${type}/_search?${own}`', 'path: `${type}/_search`'),
    { ci: true }
  ),
  defineControl(
    'tag on the condition of a create',
    ['conditions'],
    patch(guard('restrict'), "encodeParameters([['_tag', formatTenantToken(tenant)]])]", "'']"),
    { ci: true }
  ),
  defineControl(
    'tags that a client may ask for',
    ['searches'],
    patch(guard('restrict'), "if (base === '_tag')", 'if (false)')
  ),
  defineControl(
    'check of what is read',
    ['reads'],
    patch(
      guard('reads/read-record'),
      'const record = verifyAndRememberOwned(context, parse(response), request)',
      'const record = parse(response)'
    ),
    { ci: true }
  ),
  defineControl(
    'check of an earlier version',
    ['reads'],
    patch(guard('reads/vread'), 'verifyAndRememberOwned(context, parseJson(response), { type, id })', 'parseJson(response)')
  ),
  defineControl(
    'check of matches',
    ['searches'],
    patch(
      guard('reads/search'),
      'return verifyAndRememberOwned(context, entry.resource, { type }) !== undefined',
      'return true'
    ),
    { ci: true }
  ),
  defineControl(
    'check of what comes along',
    ['joins'],
    patch(
      guard('reads/search'),
      "return (entry.search?.mode === 'include' &&",
      "return (entry.search?.mode === 'include' ||"
    ),
    { ci: true }
  ),
  defineControl(
    'total without matches that are not shown',
    ['searches'],
    patch(
      guard('reads/search'),
      'const counted = isOwn ? bundle.total : undefined',
      'const counted = bundle.total'
    )
  ),
  defineControl(
    'check of versions in a history',
    ['reads'],
    patch(guard('reads/history'), 'verifyAndRememberOwned(context, resource, request) !== undefined', 'true'),
    { ci: true }
  ),
  defineControl(
    'check of the record of a history',
    ['reads'],
    patch(guard('reads/history'), 'await readMeta(context, type, id)', '')
  ),
  defineControl(
    'check of the patient of $everything',
    ['operations'],
    patch(guard('operations/everything'), 'await readMeta(context, type, id)', '')
  ),
  defineControl(
    'check of entries of $everything',
    ['operations'],
    patch(
      guard('operations/everything'),
      "return (typeof resourceType === 'string' &&",
      "return (typeof resourceType === 'string' ||"
    ),
    { on: 'hapi' }
  ),
  defineControl(
    'check of the answer to a write',
    ['conditions'],
    patch(
      guard('writes/writes'),
      'verifyAndRememberOwned(context, parseJson(response, uncertainOutcomeMessage), { type, id })',
      'parseJson(response, uncertainOutcomeMessage)'
    )
  ),
  defineControl(
    'check of what criteria find',
    ['conditions'],
    patch(
      guard('writes/single-match'),
      '.map(match => verifyAndRememberOwned(context, match, { type }))',
      ''
    )
  ),
  defineControl(
    'check of owners that are looked up',
    ['references'],
    patch(guard('reads/fetch-owned'), '.map(match => verifyAndRememberOwned(context, match, { type }))', '')
  ),
  defineControl(
    'owner in the memory of owners',
    ['reads', 'references'],
    patch(guard('ownership'), '=== tenant;', '!== undefined;'),
    { ci: true }
  ),
  defineControl(
    'references of a write',
    ['references'],
    patch(guard('writes/writes'), 'if (refused.length > 0)', 'if (false)'),
    { ci: true }
  ),
  defineControl(
    'references of a transaction',
    ['bundles'],
    patch(guard('bundles/transaction-references'), 'if (refused.length > 0)', 'if (false)')
  ),
  defineControl(
    'references in contained resources',
    ['references'],
    patch(
      guard('writes/references'),
      'step(key, element[key], within)',
      "if (key !== 'contained') step(key, element[key], within)"
    )
  ),
  defineControl(
    'references in uris and canonicals',
    ['references'],
    patch(guard('writes/references'), 'else if (uriElements.has(key))', 'else if (false)')
  ),
  defineControl(
    'one reading of a reference',
    ['references'],
    patch(
      guard('writes/references'),
      'return isTenantType(type) && isId(id) && (history === undefined || isVersioned) ?',
      'return isTenantType(type) && isId(id) ?'
    )
  ),
  defineControl(
    'tags that a client may store',
    ['writes'],
    patch(guard('writes/tag-record'), 'labels.filter(label => !isTenantSystem(label.system, tenant))', 'labels'),
    { ci: true }
  ),
  defineControl(
    'lookalikes of the tenant system',
    ['writes'],
    patch(guard('tenant'), ".normalize('NFKD').replace(/[^!-~]/g, '').toLowerCase()", '')
  ),
  defineControl('tags without a system', ['writes'], patch(guard('writes/tag-record'), '.filter(hasSystem)', ''), {
    on: 'hapi'
  }),
  defineControl(
    'words of tags',
    ['writes'],
    patch(
      guard('writes/tag-record'),
      '_userSelected, ...coding }) {\n    return coding;',
      '_userSelected, ...coding }) {\n    return { ...coding, ...display && { display } };'
    ),
    { on: 'hapi' }
  ),
  defineControl(
    "the tenant's own tag",
    ['writes'],
    patch(guard('writes/tag-record'), '[...tags, { system: tenant.system, code: tenant.id }]', 'tags')
  ),
  defineControl(
    'extensions of the datastore',
    ['binaries'],
    patch(guard('writes/tag-record'), '!serverExtension.test(url)', 'true')
  ),
  defineControl(
    'owner before an update',
    ['writes'],
    patch(guard('writes/writes'), 'if (!(await filterOwned(context, [record])).has(record))', 'if (false)'),
    { ci: true }
  ),
  defineControl(
    'owner before a delete',
    ['writes'],
    patch(guard('writes/writes'), 'const stored = await readMeta(context, type, id)', 'const stored = { meta: {} }'),
    { ci: true }
  ),
  defineControl(
    'owners of the records of a transaction',
    ['bundles'],
    patch(guard('bundles/transaction'), 'if (missing.length > 0)', 'if (false)')
  ),
  defineControl(
    'If-Match of an update',
    ['writes'],
    patch(
      guard('writes/writes'),
      "const headers = { ...preferRepresentation, ...(version !== undefined && { 'if-match': toEntityTag(version) }) };",
      'const headers = { ...preferRepresentation };'
    )
  ),
  defineControl(
    'If-Match of a delete',
    ['writes'],
    patch(guard('writes/writes'), 'if (version !== undefined && version !== stored.meta.versionId)', 'if (false)'),
    { on: 'hapi' }
  ),
  defineControl(
    'headers that go to the datastore',
    ['headers'],
    [
      patch('backends/http-backend.js', 'if (!mayBeSent.has(name))', 'if (false)'),
      patch(
        guard('tenant-context'),
        ': { ...request, headers: { ...request.headers,',
        ': { ...request, headers: { ...globalThis.clientHeaders, ...request.headers,'
      ),
      patch(
        'bootstrap/guarded-stores.js',
        'return ({ caller, id, log, waiting, accesses }, form) => tenantGuard(',
        "return ({ headers, caller, id, log, waiting, accesses }, form) => (globalThis.clientHeaders = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-') || name === 'content-location'))) && tenantGuard("
      )
    ],
    { ci: true }
  ),
  defineControl('tenant of a cursor', ['cursors'], patch(guard('cursor'), '[version, tenant, mode,', '[version, mode,'), {
    ci: true
  }),
  defineControl(
    'mode and datastore of a cursor',
    ['cursors'],
    patch(guard('cursor'), '[version, tenant, mode, datastore,', '[version, tenant,')
  ),
  defineControl('type of a cursor', ['cursors'], patch(guard('cursor'), 'route, type, ...own])', 'route, ...own])')),
  defineControl('route of a cursor', ['cursors'], patch(guard('cursor'), 'route, type, ...own])', 'type, ...own])')),
  defineControl(
    'seal of a cursor',
    ['cursors'],
    patch(
      'files/authenticated-encryption.js',
      'decipher.final();',
      ''
    )
  ),
  defineControl(
    'one spelling of a cursor',
    ['cursors'],
    patch(guard('cursor'), "if (bytes.toString('base64url') !== cursor)", 'if (false)')
  ),
  defineControl(
    'joins in two steps',
    ['joins'],
    patch(
      guard('reads/chaining'),
      "const conditions = await mapConcurrently(joins, join => join.direction === 'chain' ? resolveChain(context, join) : resolveReverseChain(context, type, join))",
      "const conditions = joins.map(({ direction, types, reference, condition: [name, value] }) => [direction === 'chain' ? `${reference}:${types[0]}.${name}` : `_has:${types[0]}:${reference}:${name}`, value])"
    ),
    { on: 'hapi' }
  ),
  defineControl(
    'criteria without joins and paging',
    ['conditions'],
    patch('api/passthrough/search-request.js', 'if (parameters.length === 0 || !isPlain)', 'if (false)')
  ),
  defineControl(
    'one spelling of a path',
    ['paths'],
    [
      patch('api/passthrough/fhir-request.js', '|| !/^[A-Za-z0-9\\-._$*]+$/.test(segment)', ''),
      patch('api/passthrough/interaction-of.js', '/^[A-Za-z0-9\\-.]+$/.test(segment)', "segment !== ''"),
      patch(guard('policy'), "if (on === 'record' && !isId(id))", 'if (false)')
    ]
  ),
  defineControl(
    'types that all share',
    ['shared'],
    patch(guard('policy'), 'if (sharedTypes.has(interaction.type))', 'if (false)'),
    { ci: true }
  ),
  defineControl(
    'scope of a key',
    ['http'],
    patch(
      'api/passthrough/allowed.js',
      "requireScope(caller, effect, type === undefined ? 'any' : { fhirType: type });",
      ''
    ),
    { ci: true }
  ),
  defineControl(
    'scope of an entry of a batch',
    ['bundles'],
    patch('api/passthrough/allowed.js', 'requireScopes(caller, entry.interaction);', '')
  ),
  defineControl('one key', ['http'], [
    patch('keys/authenticate.js', 'if (headerKeys.length > 1)', 'if (false)'),
    patch('keys/authenticate.js', 'headerKeys[0] !== bearerKeys[0]', 'false')
  ]),
  defineControl(
    'URLs of the datastore',
    ['reads'],
    patch(guard('public-urls'), 'return text.includes(backend.baseUrl) ?', 'return false ?')
  ),
  defineControl(
    'links to pages',
    ['searches'],
    patch(
      guard('reads/pages'),
      'return context.cursors.seal({ ...buildContents(), link }, binding)',
      'return `${context.cursors.seal({ ...buildContents(), link }, binding)}&at=${next}`'
    )
  ),
  defineControl(
    'errors in own words',
    ['writes'],
    patch(
      guard('writes/writes'),
      "const message = 'Other records still refer to this one. Delete or change them first.'",
      'const message = response.body'
    ),
    { on: 'hapi' }
  ),
  defineControl(
    'one reading of JSON',
    ['writes'],
    patch('envelope/body.js', 'return parseStrict(body, budget)', 'return JSON.parse(body)'),
    { ci: true }
  ),
  defineControl(
    'no content encoding',
    ['writes', 'searches'],
    patch('envelope/body.js', 'if (encoding === undefined ||', 'if (true ||')
  ),
  defineControl('UTF-8 alone', ['writes'], patch('envelope/body.js', 'if (charsets.every(', 'if (true || charsets.every('))
]
