// Every view of the studio that docs/guides/studio-views.md shows: its path, what to wait for, and what to do before
// the picture is taken.
import type { Page } from 'playwright-core'
import type { Look } from './sheet.ts'

export interface PictureView {
  readonly name: string
  readonly path: string
  /** Selects an element that is visible once the view is complete. */
  readonly shows: string
  /** The studio that has it. Default: the one with the samples. */
  readonly of?: 'empty' | 'locked'
  /** Prepares the page. Default: does nothing. */
  prepare?(page: Page): Promise<unknown>
}

const encoded = (path: string): string => encodeURIComponent(path)

export const pictureViews: readonly PictureView[] = [
  { name: 'waiting', path: '/', shows: '.question-card' },
  { name: 'question-call', path: '/?question=claim-4712%20q1', shows: '.question-place form' },
  { name: 'question-result', path: '/?question=claim-4713%20q2', shows: '.question-place form' },
  { name: 'question-doubt', path: '/?question=claim-4714%20q3', shows: '.question-place form' },
  { name: 'question-limit', path: '/?question=summary-long-text%20q1', shows: '.question-place form' },
  { name: 'runs', path: '/runs', shows: '.run-row .run-id' },
  { name: 'run-killed', path: '/runs/claim-4716', shows: '.line.is-step' },
  { name: 'run', path: `/runs/claim-4716?at=${encoded('assessment#1/2')}`, shows: '.detail h3' },
  {
    name: 'run-crews',
    path: '/runs/coast-of-yorkshire',
    shows: '.line.is-step',
    prepare: async (page) => {
      for (const task of ['survey', 'tides']) await page.getByRole('button', { name: `Tasks of ${task}` }).click()
      await page.locator('.line').filter({ hasText: 'read_gauge' }).last().waitFor()
    },
  },
  { name: 'run-failed', path: '/runs/claim-4715', shows: '.run-why' },
  { name: 'graph', path: '/runs/check-north-mill?tab=graph', shows: '.graph strong' },
  { name: 'inputs', path: '/runs/claim-4711?tab=io', shows: '.run-main h2, .run-main h3' },
  { name: 'spending', path: '/runs/claim-4711?tab=spending', shows: '.run-main table' },
  { name: 'lineage', path: '/runs/claim-4711?tab=lineage', shows: '.run-main a' },
  {
    name: 'fork',
    path: '/runs/claim-4711?action=fork&edit=facts',
    shows: 'dialog fieldset',
    prepare: async (page) => {
      await page.getByRole('group', { name: 'Output of facts' }).getByLabel('issue').fill('a burst pipe')
      const plan = page.locator('dialog .plan[aria-busy=false]')
      await plan.filter({ hasText: 'edit' }).waitFor()
      await plan.locator('.plan-sum').scrollIntoViewIfNeeded()
    },
  },
  { name: 'compare', path: '/compare?a=claim-4711&b=claim-4711-not-covered', shows: '.diff-part' },
  { name: 'backtest', path: '/compare?backtest=facts-again', shows: '.case[open]' },
  { name: 'crews', path: '/crews', shows: '.crew-card' },
  { name: 'crew', path: '/crews/claims', shows: 'form' },
  { name: 'token', path: '/', shows: '.unlock', of: 'locked' },
  { name: 'empty', path: '/', shows: '.state-title', of: 'empty' },
]

export interface SinglePicture {
  /** The file below docs/pictures. */
  readonly name: string
  /** The name of its view. */
  readonly of: string
  readonly look: Look
}

const page = { width: 1180, height: 690 }

/** Single pictures, in the README and in docs/guides/studio.md. */
export const singles: readonly SinglePicture[] = [
  { name: 'studio-run.webp', of: 'run', look: { name: 'dark', colorScheme: 'dark', viewport: page } },
  { name: 'studio-waiting.webp', of: 'waiting', look: { name: 'light', colorScheme: 'light', viewport: page } },
  { name: 'studio-plan.webp', of: 'fork', look: { name: 'light', colorScheme: 'light', viewport: page } },
  {
    name: 'studio-phone.webp',
    of: 'question-call',
    look: { name: 'phone', colorScheme: 'light', viewport: { width: 360, height: 740 } },
  },
]
