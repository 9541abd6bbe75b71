import * as History from "./History.model.fixture.ts"

History.test(500)
