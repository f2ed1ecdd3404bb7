/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: migration
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/vmstate.h"
#include "migration/qemu-file-types.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"
#include "trace.h"

static int cnnacc_put_state(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field, JSONWriter *vmdesc)
{
    CnnaccHost *host = pv;
    size_t len = cm_device_state_size(host->model);
    g_autofree uint8_t *buf = g_try_malloc0(len);

    if (!buf) {
        error_report("%s: no memory to save %zu bytes", cnnacc_id(host), len);
        return -ENOMEM;
    }
    trace_cnnacc_save(cnnacc_id(host), len);
    cnnacc_stop(host);
    cm_device_save(host->model, buf);
    cnnacc_resume(host);
    qemu_put_be64(f, len);
    qemu_put_buffer(f, buf, len);
    return 0;
}

static int cnnacc_load_state(CnnaccHost *host, const uint8_t *buf, size_t len)
{
    char err[CM_ERR_LEN] = "";
    int ret;

    cnnacc_stop(host);
    ret = cm_device_load(host->model, buf, len, err);
    host->messages = 0;
    cnnacc_resume(host);
    if (ret) {
        error_report("%s: saved state refused: %s", cnnacc_id(host), err);
        return -EINVAL;
    }
    return 0;
}

static int cnnacc_get_state(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field)
{
    CnnaccHost *host = pv;
    size_t want = cm_device_state_size(host->model);
    uint64_t len = qemu_get_be64(f);
    g_autofree uint8_t *buf = NULL;

    trace_cnnacc_load(cnnacc_id(host), len);
    if (len != want) {
        error_report("%s: saved state refused: %" PRIu64 " bytes, but these "
                     "cores need %zu", cnnacc_id(host), len, want);
        return -EINVAL;
    }
    buf = g_try_malloc(want);
    if (!buf) {
        error_report("%s: no memory to load %zu bytes", cnnacc_id(host), want);
        return -ENOMEM;
    }
    if (qemu_get_buffer(f, buf, want) != want) {
        error_report("%s: saved state refused: it is cut short",
                     cnnacc_id(host));
        return -EINVAL;
    }
    return cnnacc_load_state(host, buf, want);
}

static const VMStateInfo vmstate_info_cnnacc_model = {
    .name = "cnnacc-model",
    .get = cnnacc_get_state,
    .put = cnnacc_put_state,
};

const VMStateDescription vmstate_cnnacc_host = {
    .name = "cnnacc-host",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (CNNACC_VMSTATE_CONST VMStateField[]) {
        {
            .name = "model",
            .version_id = 1,
            .info = &vmstate_info_cnnacc_model,
            .flags = VMS_SINGLE,
        },
        VMSTATE_END_OF_LIST()
    }
};
