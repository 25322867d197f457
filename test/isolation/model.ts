/** A resource group as the model knows it: one text with its owner's mark, and its references. */
export interface Group {
  readonly path: string
  readonly type: string
  /** The field that holds the owner's mark. */
  readonly text: string
  /** A filter that finds the record by its text. */
  readonly filter: string
  readonly references: Readonly<Record<string, { readonly to: string, readonly required?: boolean }>>
  /** The other fields that it needs. */
  readonly others: Readonly<Record<string, unknown>>
}

const ofPatient = { to: 'patients', required: true }

export const groups: readonly Group[] = [
  {
    path: 'patients',
    type: 'Patient',
    text: 'lastName',
    filter: 'lastName',
    references: { generalPractitionerId: { to: 'practitioners' } },
    others: { firstName: 'Ada' }
  },
  {
    path: 'practitioners',
    type: 'Practitioner',
    text: 'lastName',
    filter: 'name',
    references: {},
    others: { firstName: 'Grace' }
  },
  {
    path: 'encounters',
    type: 'Encounter',
    text: 'reasonCode',
    filter: 'reasonCode:text',
    references: { patientId: ofPatient, practitionerId: { to: 'practitioners' } },
    others: {}
  },
  {
    path: 'observations',
    type: 'Observation',
    text: 'code',
    filter: 'code:text',
    references: { patientId: ofPatient, encounterId: { to: 'encounters' } },
    others: { valueString: 'x' }
  },
  {
    path: 'consents',
    type: 'Consent',
    text: 'category',
    filter: 'category:text',
    references: { patientId: ofPatient },
    others: { scope: 'patient-privacy' }
  },
  { path: 'medications', type: 'Medication', text: 'code', filter: 'code:text', references: {}, others: {} }
]

/** A record as its owner should see it. */
export interface Known {
  readonly group: Group
  readonly id: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly version: string
  readonly isDeleted?: boolean
}

export const toPath = ({ group, id }: Known): string => `${group.path}/${id}`

/** All records of one owner, those that it deleted included: others go on trying them. */
export class Records {
  readonly #known = new Map<string, Known>()

  get all (): readonly Known[] { return [...this.#known.values()] }

  listByGroup (group: Group): readonly Known[] {
    return this.all.filter(record => record.group === group && !record.isDeleted)
  }

  /** The current record, when it is this owner's and not deleted; undefined otherwise. */
  get (record: Known): Known | undefined {
    const own = this.#known.get(toPath(record))
    return own?.isDeleted ? undefined : own
  }

  has (path: string, id: string): boolean {
    return this.#known.get(`${path}/${id}`)?.isDeleted === undefined && this.#known.has(`${path}/${id}`)
  }

  isReferredTo ({ group, id }: Known): boolean {
    return this.all.some(
      other =>
        !other.isDeleted &&
        Object.entries(other.group.references).some(
          ([field, { to }]) => to === group.path && other.fields[field] === id
        )
    )
  }

  add (record: Known): void {
    this.#known.set(toPath(record), record)
  }

  change (record: Known, fields: Known['fields'], version: string): void {
    this.add({ ...record, fields: { ...record.fields, ...fields }, version })
  }

  remove (record: Known): void {
    this.add({ ...record, isDeleted: true })
  }
}
