# Routines with the vector extension: strings, memory, linear algebra, sorting network, fixed point.
    .text
    .globl _start
_start:
    li a0, 64
    call copy
    call length
    call saxpy
    call dot
    call planes
    call gather
    call pack
    call prefix
    call mean
    call convert
    call crypt
    call whole
    li a7, 93
    ecall

copy:                               # memcpy
    mv a3, a0
1:  vsetvli t0, a2, e8, m8, ta, ma
    vle8.v v0, (a1)
    add a1, a1, t0
    sub a2, a2, t0
    vse8.v v0, (a3)
    add a3, a3, t0
    bnez a2, 1b
    ret

length:                             # strlen
    mv a3, a0
1:  vsetvli a1, x0, e8, m8, ta, ma
    vle8ff.v v8, (a3)
    csrr a1, vl
    vmseq.vi v0, v8, 0
    vfirst.m a2, v0
    add a3, a3, a1
    bltz a2, 1b
    add a0, a0, a1
    add a3, a3, a2
    sub a0, a3, a0
    ret

saxpy:
1:  vsetvli a4, a0, e32, m8, ta, ma
    vle32.v v0, (a1)
    sub a0, a0, a4
    slli a4, a4, 2
    add a1, a1, a4
    vle32.v v8, (a2)
    vfmacc.vf v8, fa0, v0
    vse32.v v8, (a2)
    add a2, a2, a4
    bnez a0, 1b
    ret

dot:
    vsetvli t0, x0, e64, m4, tu, mu
    vmv.v.i v16, 0
    vfmv.s.f v24, fa0
1:  vsetvli t0, a0, e64, m4, tu, mu
    vle64.v v8, (a1)
    vlse64.v v12, (a2), a5
    vfmacc.vv v16, v8, v12
    vfmul.vv v8, v8, v12, v0.t
    vfredusum.vs v24, v16, v24
    vfredosum.vs v24, v8, v24, v0.t
    sub a0, a0, t0
    bnez a0, 1b
    vfmv.f.s fa0, v24
    ret

planes:                             # de-interleave RGB and interleave RGBA
    vsetvli t0, a0, e8, m2, ta, ma
    vlseg3e8.v v2, (a1)
    vsseg4e8.v v2, (a2), v0.t
    vlsseg2e16.v v4, (a1), a3
    vluxseg5ei32.v v8, (a1), v16
    vsoxseg8ei8.v v8, (a1), v16, v0.t
    vlseg2e64ff.v v8, (a1)
    ret

gather:
    vsetivli t0, 16, e16, mf2, ta, mu
    vluxei16.v v4, (a0), v8
    vloxei64.v v4, (a0), v8, v0.t
    vsuxei32.v v4, (a1), v12
    vrgather.vv v1, v4, v8
    vrgather.vx v1, v4, a2
    vrgather.vi v1, v4, 31
    vrgatherei16.vv v1, v4, v8, v0.t
    vslideup.vx v2, v4, a0
    vslidedown.vi v2, v4, 7, v0.t
    vslide1up.vx v2, v4, a1
    vfslide1down.vf v2, v4, fa1
    ret

pack:
    vmsltu.vx v0, v8, a0
    vmsgt.vi v1, v8, -5, v0.t
    vcompress.vm v2, v8, v0
    vmerge.vvm v3, v8, v2, v0
    vmerge.vim v3, v8, -16, v0
    vfmerge.vfm v3, v8, ft0, v0
    vcpop.m a0, v0
    vmsbf.m v4, v0, v0.t
    viota.m v5, v0
    vid.v v6, v0.t
    vmand.mm v0, v1, v2
    vmnot.m v0, v1
    vmclr.m v1
    vmset.m v1
    ret

prefix:
    vadd.vv v1, v2, v3
    vrsub.vi v1, v2, 0
    vwaddu.wv v4, v8, v2, v0.t
    vwmaccsu.vx v4, a0, v2
    vnsrl.wi v1, v4, 8
    vncvt.x.x.w v1, v4
    vwcvt.x.x.v v4, v1
    vadc.vxm v1, v2, a0, v0
    vmadc.vv v1, v2, v3
    vsbc.vvm v1, v2, v3, v0
    vmsbc.vxm v1, v2, a1, v0
    vdivu.vv v1, v2, v3
    vrem.vx v1, v2, a0, v0.t
    vmulhsu.vv v1, v2, v3
    vmadd.vx v1, a0, v3
    vnmsac.vv v1, v2, v3
    vredsum.vs v1, v2, v3
    vwredsumu.vs v1, v2, v3
    vzext.vf4 v1, v2
    vsext.vf8 v8, v1, v0.t
    ret

mean:                               # fixed point
    csrwi vxrm, 2
    vaaddu.vv v1, v2, v3
    vasub.vx v1, v2, a0
    vsadd.vi v1, v2, -3
    vssubu.vv v1, v2, v3, v0.t
    vsmul.vx v1, v2, a0
    vssrl.vi v1, v2, 5
    vssra.vv v1, v2, v3
    vnclipu.wi v1, v4, 3
    vnclip.wv v1, v4, v2
    csrr a0, vxsat
    ret

convert:
    vfcvt.x.f.v v1, v2
    vfcvt.rtz.xu.f.v v1, v2, v0.t
    vfwcvt.f.f.v v4, v2
    vfncvt.rod.f.f.w v1, v4
    vfsqrt.v v1, v2
    vfrsqrt7.v v1, v2
    vfrec7.v v1, v2, v0.t
    vfclass.v v1, v2
    vfwnmsac.vf v4, fa0, v2
    vfwredusum.vs v1, v2, v3
    vmfge.vf v1, v2, fa0
    vmfne.vv v1, v2, v3
    vfneg.v v1, v2
    vfabs.v v1, v2
    vfmv.v.f v1, fa0
    ret

crypt:
    vxor.vi v1, v1, -1
    vnot.v v1, v1
    vneg.v v1, v1
    vsll.vi v1, v1, 31
    vsrl.vx v1, v1, a0
    vsra.vv v1, v1, v2
    vmv.x.s a0, v1
    vmv.s.x v1, a0
    vmv.v.x v1, a0
    vmv.v.v v1, v2
    vsetvl t0, a0, a1
    ret

whole:                              # spill and fill
    vl1re8.v v1, (a0)
    vl2re16.v v2, (a0)
    vl4re32.v v4, (a0)
    vl8re64.v v8, (a0)
    vs1r.v v1, (a0)
    vs2r.v v2, (a0)
    vs4r.v v4, (a0)
    vs8r.v v8, (a0)
    vmv1r.v v1, v2
    vmv2r.v v2, v4
    vmv4r.v v4, v8
    vmv8r.v v8, v16
    vlm.v v0, (a0)
    vsm.v v0, (a0)
    ret
